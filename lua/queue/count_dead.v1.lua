-- queue.count_dead.v1: count dead tasks by kind and reason, the newest first. `cursor` is the cursor of the last call, '' at
-- first; an empty cursor in the answer means that no older ones are left. A task that does not move meanwhile is
-- counted once. A kind or reason that is not set is ''. first_ms and last_ms: when the first and the last of them died.
--
-- ARGV   cursor    bytes 0..256  ?=
-- ARGV   limit     int 1..1000   ?=1000
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int cursor:text counted:int items:list(item)
-- EACH   item      counted kind:bytes reason:bytes count:int first_ms:int last_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 + n commands, O(n + log m); at most 1,200 commands, 12,000 steps

local ctx, refused = open()
if refused then return refused end
local score, id = string.match(cursor, '^(%d+) (%S+)$')
if cursor ~= '' and not score then
  return refuse('cursor', cursor, 'empty, or what the call before answered')
end

local upto = score and rank_after(dead, score, id) or redis.call('ZCARD', dead)
if score and redis.call('ZSCORE', dead, id) == score then upto = upto - 1 end
local from = math.max(0, upto - limit)
local page = upto > 0 and redis.call('ZRANGE', dead, from, upto - 1, 'WITHSCORES') or {}
local groups, answers = {}, {}
for i = #page - 1, 1, -2 do
  local row = redis.call('HMGET', task .. page[i], 'kind', 'reason')
  local kind, reason, at_ms = row[1] or '', row[2] or '', tonumber(page[i + 1])
  local name = kind .. ' ' .. reason
  local group = groups[name]
  if not group then
    group = { 'counted', kind, reason, 0, at_ms, at_ms }
    groups[name] = group
    answers[#answers + 1] = group
  end
  group[4], group[5] = group[4] + 1, at_ms
end
return { 'ok', ctx.now, from > 0 and page[2] .. ' ' .. page[1] or '', #page / 2, answers }
