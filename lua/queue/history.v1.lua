-- queue.history.v1: return the snapshots of a queue since a time, oldest first: one for each minute of the last day, or one for each
-- hour of the last 30 days. If there are `limit` of them, ask again for those after the last one. Those of a clock that was set back are left out. enqueued to run_ms_sum are totals;
-- ready to workers are how many there were. ready is -1 if the tasks were in more than 200 lanes; buried are dead tasks.
--
-- ARGV   series    enum minutes|hours
-- ARGV   since_ms  int 0..       ?=0
-- ARGV   limit     int 1..1000   ?=1000
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      snapshot at_ms:int enqueued:int claimed:int completed:int retried:int dead:int cancelled:int stalled:int wait_ms_sum:int run_ms_sum:int ready:int delayed:int blocked:int running:int buried:int workers:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 commands, O(n); at most 3 commands, 24,000 steps

local ctx, refused = open()
if refused then return refused end
local answers = {}
for _, text in ipairs(redis.call('LRANGE', history .. series, 0, 1439)) do
  if #answers == limit then break end
  local row = {}
  for number in string.gmatch(text, '%S+') do row[#row + 1] = tonumber(number) end
  if row[1] >= since_ms and row[1] <= ctx.now then answers[#answers + 1] = { 'snapshot', unpack(row, 1, 16) } end  -- at most 16: numbers of a snapshot
end
return { 'ok', ctx.now, answers }
