-- shown_entry(ctx, id, person): the entry of an inbox for a request that this user can answer now, or nil.
local function shown_entry(ctx, id, person)
  local name, slot = string.match(id, '^(.+)/(%d+)$')
  local own = read_change(name)
  if not own or own.state ~= 'reviewing' or is_overdue(ctx, own) then return nil end
  if person ~= user and text_of(own, 'p_agents_may_vote') ~= '1' then return nil end
  if text_of(own, 'p_contributors_may_vote') ~= '1' and has_written(name, { user, person }) then return nil end
  if string.find(own.slots .. ',', ' ' .. person .. ',', 1, true) then return nil end  -- it has answered another request
  return { 'request', name, tonumber(slot), own.rev, own.digest, own.timeout_at_ms, summary_of(own) }
end
