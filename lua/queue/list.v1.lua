-- queue.list.v1: a page of the tasks in one state, in the order of their set, without payload, result, error and headers.
-- `cursor` is what the last page answered, '' to begin; an empty cursor in the answer means that there is no more. A page
-- may hold fewer than limit, and stops at 1 MiB. Where the last task of a page has gone, the next page may repeat those
-- of the same score. Ready tasks are listed by lane.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   blocked   zset          {base}:blocked
-- KEYS   finished  zset          {base}:finished
-- KEYS   dead      zset          {base}:dead
-- ARGV   state     enum ready|delayed|blocked|running|stalled|completed|cancelled|dead
-- ARGV   lane      lane          ?=any
-- ARGV   cursor    bytes 0..256  ?=
-- ARGV   limit     int 1..1000   ?=100
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int cursor:text items:list(item)
-- EACH   item      found id:id state:text at_ms:int place:int record:pairs
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 + 2n commands, O(n + log m)
-- INCLUDE open_queue read_record state_of summarise

local conf, refused = open_queue()
if refused then return refused end
local last_score, last_id = string.match(cursor, '^(%d+) (%S+)$')
if cursor ~= '' and not last_score then
  return refuse('cursor', cursor, 'empty or what the page before answered')
end

local set = ({ ready = ready .. lane, delayed = delayed, blocked = blocked, running = leases, stalled = leases,
  completed = finished, cancelled = finished, dead = dead })[state]
local start = 0
if last_id then
  local rank = redis.call('ZSCORE', set, last_id) == last_score and redis.call('ZRANK', set, last_id)
  start = rank and rank + 1 or redis.call('ZCOUNT', set, '-inf', '(' .. last_score)
end
local page = redis.call('ZRANGE', set, start, start + limit - 1, 'WITHSCORES')
local answers, bytes, last = {}, 0, 0
for i = 1, #page, 2 do
  local id, score, record = page[i], page[i + 1], read_record(page[i])
  last = i
  if record and state_of(conf, set, score, record) == state then
    record.error, record.headers = nil, nil
    answers[#answers + 1] = summarise(id, state, score, record)
    bytes = bytes + 512 + #(record.tags or '')
    if bytes > 1048576 then break end
  end
end
local there_may_be_more = #page == 2 * limit or last + 1 < #page
return { 'ok', conf.now, there_may_be_more and page[last + 1] .. ' ' .. page[last] or '', answers }
