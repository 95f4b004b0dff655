-- read_change(id, new): a change, with the fields that most calls need; or nil, or with `new` one without values. text_of and number_of
-- read others when they are needed (read_fields: many in one command), set_field notes what changes, and save_change stores it.
local function read_change(id, new)
  local row = redis.call('HMGET', change .. id, 'state', 'digest', 'slots', 'rev', 'round', 'seq', 'created_ms', 'timeout_at_ms',
    'remind_at_ms', 'escalate_at_ms', 'until_ms', 'deadline_ms', 'p_follows', 'p_required', 'p_rejections', 'p_contributors_may_vote')
  if not row[1] and not new then return nil end
  local own = {
    id = id, changed = {}, state = row[1] or '', digest = row[2] or '', slots = row[3] or '', rev = tonumber(row[4] or 0),
    round = tonumber(row[5] or 0), seq = tonumber(row[6] or 0), created_ms = tonumber(row[7] or 0), timeout_at_ms = tonumber(row[8] or 0),
    remind_at_ms = tonumber(row[9] or 0), escalate_at_ms = tonumber(row[10] or 0), until_ms = tonumber(row[11] or 0),
    deadline_ms = tonumber(row[12] or 0), p_follows = row[13] or '', p_required = row[14] or '', p_rejections = row[15] or '',
    p_contributors_may_vote = row[16] or '',
  }
  own.due_ms = due_of(own)
  return own
end
