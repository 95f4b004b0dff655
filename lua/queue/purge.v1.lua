-- queue.purge.v1: delete waiting tasks and their idempotency keys; with `all`, also finished and dead tasks; with a
-- lane, only its ready tasks. Running tasks stay. `more` is 1 if some may be left, because a call sends at most about
-- 2,000 commands. If the same call is sent again, it deletes nothing more and returns the same answer.
--
-- ARGV   rid       id            ?=
-- ARGV   what      enum waiting|all ?=waiting
-- ARGV   lane      lane          ?=
-- ARGV   limit     int 1..1000   ?=1000
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int purged:int more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.removed
-- ROLE   operate
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   24 + 4n commands, 3 for a task in a limit queue, 8 more for unique and idempotency key, 1 for each user, tag and parent, 5 for a task that others wait for, O(n log m); at most 2,700 commands, 20,000 steps
-- EARLY  emit lane_emptied leave_line

local ctx, refused = open()
if refused then return refused end

local purged, left = string.match(done_before(ctx, 'purge') or '', '^(%d+):(%d)$')
if purged then return { 'ok', ctx.now, tonumber(purged), tonumber(left) } end

local sets = { delayed, blocked }
if what == 'all' then sets = { delayed, blocked, finished, dead } end
if lane ~= '' then sets = {} end
local in_line = lane ~= '' and { lane } or redis.call('SRANDMEMBER', lanes, 100)
for i, one in ipairs(in_line) do table.insert(sets, i, ready .. one) end

local gone, keep_ms, work = {}, nil, 2000  -- about how many commands it may send
for i, set in ipairs(sets) do
  local ids = #gone < limit and work > 0 and redis.call('ZRANGE', set, 0, limit - #gone - 1) or {}
  for at, id in ipairs(ids) do
    if work <= 0 then
      for last = #ids, at, -1 do ids[last] = nil end
      break
    end
    local own = redis.call('HMGET', task .. id, 'ties', 'idempotency_key', 'limited_by', 'keys', 'rid', 'tags', 'unique', 'scope', 'reply')
    local _, tags = string.gsub(own[6] or '', ',', '')
    work = work - 4 - tags - (own[1] and 3 or 0)
    for field = 2, 9 do work = work - (own[field] and field ~= 5 and field ~= 6 and 2 or 0) end
    local key = own[2] and 'key:' .. own[2]
    if own[1] then on_end(ctx, id, 'removed', set ~= finished and set ~= dead and '' or nil) end
    if key and string.find(redis.call('HGET', once, key) or '', id .. ' ', 1, true) == 1 then
      redis.call('HDEL', once, key)
      redis.call('ZREM', once_due, key)
    end
    if own[3] then leave_line(id, own[3]) end
    if own[4] then
      -- As long as the keys count; in `keys` of an older version there is no time.
      keep_ms = keep_ms or math.max(redis.call('HGET', config, 'idempotency_ms') or 0, DEFAULT_idempotency_ms)
      hold_once(ctx, 'purged:' .. own[5], id, own[4] == '1' and keep_ms or math.max(own[4] - ctx.now, 1))
    end
    gone[#gone + 1] = id
  end
  if ids[1] then redis.call('ZREM', set, unpack(ids)) end  -- at most 1,000: limit
  if in_line[i] and redis.call('EXISTS', set) == 0 then lane_emptied(ctx, in_line[i]) end
end
if ctx.notes then store_notes(ctx) end
remove_tasks(ctx, gone, {}, 'purged')
if #gone > 0 then emit(ctx, 'task.removed', table.concat(gone, ' '), 'reason=purged') end
if #gone > 0 then add_count(ctx, 'purged', #gone) end
write_counts(ctx)
local more = (#gone == limit or work <= 0 or redis.call('EXISTS', lane ~= '' and ready .. lane or lanes) == 1) and 1 or 0
note_done(ctx, 'purge', #gone .. ':' .. more)
return { 'ok', ctx.now, #gone, more }
