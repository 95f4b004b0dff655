-- summarise(id, state, score, record): a task as get and list answer it: its state, the time or place that its score
-- says, and its record with the parts of the current or last lease spelled out.
local function summarise(id, state, score, record)
  local held = redis.call('HGET', running, id)
  local started, attempt, delivery, crashes, fence, worker =
    string.match(held and string.sub(held, (string.find(held, '|', 1, true) or #held) + 1) or record.ran or '', '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
  record.worker, record.started_ms, record.fence = worker, started, fence
  if held or state == 'completed' then record.attempts, record.deliveries = attempt, delivery end
  if held then record.token, record.crashes = string.match(held, '^%S+'), crashes end
  record.ran = nil
  local place, at_ms, shown = 0, tonumber(score), {}
  if state == 'ready' or state == 'blocked' then place, at_ms = at_ms % BAND, 0 end
  for name, value in pairs(record) do
    shown[#shown + 1] = name
    shown[#shown + 1] = value
  end
  return { 'found', id, state, at_ms, place, shown }
end
