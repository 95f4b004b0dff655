-- queue.configure.v1: change settings of a queue, and create it if need be. The clock is chosen at creation, once. The same
-- call, sent again, sets nothing again. Without settings it answers those that are stored; others are at their defaults.
--
-- ARGV   rid       id            ?=
-- ARGV   clock     enum keep|server|test ?=keep
-- ARGV   now_ms    int 0..       ?=0
-- SETTINGS settings
-- GROUP  settings  0..1
-- RETURN ok        now_ms:int settings:pairs(settings)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_CONFLICT
-- ROLE   operate
-- REPLAY rid
-- COST   10 commands; at most 13 commands, 340 steps
-- LATE   set_fair

local stored = redis.call('HGET', config, 'clock')
if stored then
  local ctx, refused = open_queue()
  if refused then return refused end
  if clock ~= 'keep' and clock ~= stored then
    return redis.error_reply('ADEQ_CONFLICT clock is ' .. stored .. ' since this queue was created, and cannot become ' .. clock)
  end
elseif (clock == 'test') ~= (now_ms > 0) then
  return redis.error_reply('ADEQ_CLOCK now_ms goes with clock=test, and only with it')
else
  redis.call('HSET', config, 'layout', CREATED, 'layout_min', CREATED, 'clock', clock == 'test' and 'test' or 'server')
end
local ctx, changes = open_queue(), settings_pairs[1] or {}
if #changes > 0 and not done_before(ctx, 'configure') then
  if changes.fair ~= nil then set_fair(ctx, changes) end
  redis.call('HSET', config, unpack(changes))  -- at most 60: two for each setting
  if changes.timeout_ms and tonumber(changes.timeout_ms) ~= (ctx.timeout_ms or 0) then
    redis.call('HSET', config, 'timeout_set_ms', ctx.now_text)
  end
  note_done(ctx, 'configure', 'done')
end
-- at most 50: settings, counters and marks
return { 'ok', ctx.now, redis.call('HGETALL', config) }
