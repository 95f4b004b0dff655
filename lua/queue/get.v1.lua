-- queue.get.v1: return tasks as they are now: state, record, payload and result; an empty result means none. `at_ms` is
-- the due time of a delayed task, the deadline of a running one, the time of the end of an ended one, otherwise 0. The
-- answer stops before 4 MiB, but has at least one task; `missed` is the number of items left out at the end.
--
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- RETURN ok        now_ms:int missed:int items:list(item)
-- EACH   item      found id:id state:text at_ms:int place:int record:pairs(task) payload:bytes result:bytes
-- EACH   item      not_found
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   2 + 4n to 2 + 9n commands, O(n log m); at most 2,300 commands, 96,000 steps

local ctx, refused = open()
if refused then return refused end

local answers, bytes = {}, 0
for i = 1, item_count do
  local id = item_id[i]
  local record, size = read_record(id)
  local set, score = find_set(id, record)
  if not set then
    answers[i] = { 'not_found' }
  else
    local data = redis.call('MGET', payload .. id, result .. id)
    if tonumber(record.result_until_ms or MAX_SAFE) <= ctx.now then data[2] = '' end
    bytes = bytes + 1024 + size + #(data[1] or '') + #(data[2] or '')
    if bytes > 4194304 and i > 1 then return { 'ok', ctx.now, item_count - i + 1, answers } end
    answers[i] = summarise(id, state_of(ctx, set, score, record), score, record)
    answers[i][7], answers[i][8] = data[1] or '', data[2] or ''
  end
end
return { 'ok', ctx.now, 0, answers }
