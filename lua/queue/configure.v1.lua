-- queue.configure.v1: change settings of a queue, and create it if need be. The clock is chosen at creation, once. The same
-- call, sent again, sets nothing again.
-- Without settings it answers those that are stored. What is not stored is at its default: lease_ms 15000, max_attempts 3,
-- max_crashes 5, backoff_base_ms 1000, backoff_multiplier_pct 200, backoff_cap_ms 300000, jitter_pct 10, events_max 100000 (0: no events),
-- finished_keep_ms 7 days, finished_max 100000, dead_keep_ms 30 days, dead_max 100000, result_ms as long as the record,
-- idempotency_ms 1 day, reply_ms 1 hour, timeout_grace_ms 10000, fair 0:
-- with 1 users take turns, each according to its weight, whatever they have in line.
--
-- KEYS   config    hash          {base}:config
-- KEYS   once      hash          {base}:once
-- KEYS   once_due  zset          {base}:once:due
-- ARGV   rid       id            ?=
-- ARGV   clock     enum keep|server|test ?=keep
-- ARGV   now_ms    int 0..       ?=0
-- PAIR   settings.lease_ms       int 1000..86400000
-- PAIR   settings.max_attempts   int 1..1000
-- PAIR   settings.max_crashes    int 1..1000
-- PAIR   settings.backoff_base_ms int 0..86400000
-- PAIR   settings.backoff_multiplier_pct int 100..10000
-- PAIR   settings.backoff_cap_ms int 0..604800000
-- PAIR   settings.jitter_pct     int 0..100
-- PAIR   settings.events_max     int 0..10000000
-- PAIR   settings.finished_keep_ms int 0..315360000000
-- PAIR   settings.finished_max   int 0..100000000
-- PAIR   settings.dead_keep_ms   int 0..315360000000
-- PAIR   settings.dead_max       int 0..100000000
-- PAIR   settings.result_ms      int 0..315360000000
-- PAIR   settings.idempotency_ms int 1000..315360000000
-- PAIR   settings.reply_ms      int 1000..315360000000
-- PAIR   settings.timeout_grace_ms int 0..86400000
-- PAIR   settings.fair           bool
-- GROUP  settings  0..1
-- RETURN ok        now_ms:int settings:pairs
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_CONFLICT
-- ROLE   operate
-- COST   10 commands
-- INCLUDE base_time open_queue done_before sweep_once hold_once note_done
-- RARELY set_fair

local stored = redis.call('HGET', config, 'clock')
if stored then
  local conf, refused = open_queue()
  if refused then return refused end
  if clock ~= 'keep' and clock ~= stored then
    return redis.error_reply('ADEQ_CONFLICT clock is ' .. stored .. ' since this queue was created, and cannot become ' .. clock)
  end
elseif (clock == 'test') ~= (now_ms > 0) then
  return redis.error_reply('ADEQ_CLOCK now_ms goes with clock=test, and only with it')
else
  redis.call('HSET', config, 'layout', CREATED, 'layout_min', CREATED, 'clock', clock == 'test' and 'test' or 'server')
end
local conf, changes = open_queue(), settings_pairs[1] or {}
if #changes > 0 and not done_before(conf, 'configure') then
  if changes.fair ~= nil then set_fair(conf, changes) end
  redis.call('HSET', config, unpack(changes))  -- at most 60: two for each setting
  note_done(conf, 'configure', 'done')
end
-- at most 50: settings, counters and marks
return { 'ok', conf.now, redis.call('HGETALL', config) }
