-- shown_entry(ctx, id, names, person): the entry of an inbox for a request that this user can answer now, or nil. names: the user and its
-- groups, as reviewers.
local function shown_entry(ctx, id, names, person)
  local name, slot = string.match(id, '^(.+)/(%d+)$')
  local own = read_change(name)
  if not own or own.state ~= 'reviewing' or is_overdue(ctx, own) then return nil end
  if person ~= user and text_of(own, 'p_agents_may_vote') ~= '1' then return nil end
  if text_of(own, 'p_contributors_may_vote') ~= '1' and has_written(name, { user, person }) then return nil end
  resolve_requests(ctx, own)
  local one = find_slot(own, tonumber(slot))
  if not one or one.status ~= 'pending' or not names[one.reviewer] or has_answered(own, person) then return nil end
  if is_behind_another(own, one, { user, person }) then return nil end
  return { 'request', name, tonumber(slot), own.rev, own.digest, own.timeout_at_ms, summary_of(own) }
end
