-- summarise(id, state, score, record, hide): a task as get and list answer it: its state, the time or place that its score
-- says, and its record with the parts of the current or last lease spelled out. `hide` names fields to leave out.
-- NEEDS running
local function summarise(id, state, score, record, hide)
  local held = redis.call('HGET', running, id)
  local started, attempt, delivery, crashes, fence, worker =
    string.match(held or record.ran or '', '(%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
  if worker then
    record.worker, record.started_ms, record.fence = worker, started, fence
    if held or state == 'completed' then record.attempts, record.deliveries = attempt, delivery end
    if held then record.token, record.crashes = string.match(held, '^%S+'), crashes end
  end
  local place, at_ms = 0, tonumber(score)
  if state == 'ready' or state == 'blocked' then place, at_ms = at_ms % 281474976710656, 0 end
  local pairs_out = {}
  for name, value in pairs(record) do
    if not hide[name] and name ~= 'ran' then
      pairs_out[#pairs_out + 1] = name
      pairs_out[#pairs_out + 1] = value
    end
  end
  return { 'found', id, state, at_ms, place, pairs_out }
end
