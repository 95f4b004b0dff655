-- queue.overview.v1: return what stats returns, and since when the oldest ready task of each lane waits. Of each lane, the
-- next task of each priority is looked at. Tasks behind it are usually younger; a task of a user with many tasks may
-- not be, if shares are fair. At most 200 lanes are looked at, and the 50 that wait longest are listed.
--
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int mode:text ready:int delayed:int blocked:int running:int stalled:int finished:int dead:int workers:int lanes:pairs(lanes) more_lanes:int counters:pairs(counters) oldest:pairs(oldest)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   12 + 3l commands for l lanes, 2 more for each further priority; at most 17,000 commands, 72,000 steps

local ctx, refused = open()
if refused then return refused end

local answer, names = count_tasks(ctx)
local sizes, waits, oldest = answer[12], {}, {}
for i = 1, math.min(#names, 200) do
  local since_ms = waits_since(names[i], tonumber(sizes[2 * i]))
  if since_ms then waits[#waits + 1] = { names[i], since_ms } end
end
table.sort(waits, function(a, b) return a[2] < b[2] or (a[2] == b[2] and a[1] < b[1]) end)
for i = 1, math.min(#waits, 50) do
  oldest[2 * i - 1], oldest[2 * i] = waits[i][1], string.format('%.0f', waits[i][2])
end
answer[15] = oldest
return answer
