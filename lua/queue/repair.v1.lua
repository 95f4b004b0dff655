-- queue.repair.v1: find tasks that are in no set or in two, as a call that failed half-way leaves them, and put each
-- where its record says: to its old place, aside, or among the ended tasks. It also repairs leases with missing parts
-- and their remains, `lanes`, and members of a limit's queue and holders that do not belong there. The caller finds the
-- names with SCAN, and gives them in the order of their creation, because places are rebuilt from it. Each task is
-- checked again, so sound tasks are never changed. `line`: check 1,000 members of each set of a key, from a rank on.
-- dry_run writes nothing. Repeating the call leaves the same state, but returns other answers.
--
-- ARGV   dry_run   bool          ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   task.id   id
-- ITEM   lane.name lane
-- ITEM   line.key  limit
-- ITEM   line.from int 0..1000000000
-- GROUP  line      0..1
-- RETURN ok        now_ms:int tasks:list(task) lanes:list(lane) lines:list(line)
-- EACH   task      sound
-- EACH   task      damaged kind:text created_ms:int rid:text index:int
-- EACH   task      repaired kind:text state:text
-- EACH   lane      sound
-- EACH   lane      damaged
-- EACH   lane      repaired
-- EACH   line      seen count:int damaged:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.repaired task.removed
-- ROLE   operate
-- REPLAY state
-- FLAGS  allow-oom
-- COST   9 + 2n commands, 10 to 60 more for each repaired task, 20 + n for a limit queue, O(n log m); at most 49,000 commands, 300,000 steps
-- EARLY  emit
-- LATE   answer_waiters line_up

local ctx, refused = open()
if refused then return refused end

local tasks, by_name, by_key = {}, {}, {}
for i, kind in ipairs(task_count > 0 and find_damage(task_id) or {}) do
  if not kind then
    tasks[i] = { 'sound' }
  elseif dry_run then
    local row = redis.call('HMGET', task .. task_id[i], 'created_ms', 'rid')
    local call, index = string.match(row[2] or '', '^(.*)/(%d+)$')
    tasks[i] = { 'damaged', kind, tonumber(row[1]) or 0, call or '', tonumber(index) or 0 }
  else
    tasks[i] = { 'repaired', kind, repair_task(ctx, task_id[i]) }
  end
end
for i = 1, lane_count do by_name[i] = { repair_lane(ctx, lane_name[i]) } end
for i = 1, line_count do by_key[i] = repair_line(ctx, line_key[i], line_from[i]) end
if ctx.notes then store_notes(ctx) end
if ctx.counts.repaired then
  retain(ctx)
  write_counts(ctx)
end
return { 'ok', ctx.now, tasks, by_name, by_key }
