-- lock.configure.v1: change settings of a domain, and create it if need be. The clock is chosen at creation, once.
-- Without settings it answers those that are stored. What is not stored is at its default: lease_ms 30000, poll_ms
-- 2000, claim_ms 5000 (at least twice poll_ms and a second), waiter_ms 15000 (more than twice poll_ms),
-- priority_step_ms 5000 (the head start of each priority before the next), policy requester (who gives way in a
-- deadlock: requester, priority, youngest), rate_per_minute 0 (no limit on what an agent may ask for), rate_burst 10,
-- detect_visits 512, events_max 100000 (0: no events). A changed step holds for those who come; poll_ms is heard with the next poll,
-- so lower it before claim_ms. Sent again, it sets the same again.
--
-- KEYS   config    hash           {base}:config
-- ARGV   clock     enum keep|server|test ?=keep
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- PAIR   settings.lease_ms       int 1000..3600000
-- PAIR   settings.poll_ms        int 100..600000
-- PAIR   settings.claim_ms       int 1000..3600000
-- PAIR   settings.waiter_ms      int 1000..3600000
-- PAIR   settings.priority_step_ms int 0..3600000
-- PAIR   settings.policy         enum requester|priority|youngest
-- PAIR   settings.rate_per_minute int 0..6000000
-- PAIR   settings.rate_burst     int 1..1000000
-- PAIR   settings.detect_visits  int 16..100000
-- PAIR   settings.events_max     int 0..10000000
-- GROUP  settings  0..1
-- RETURN ok        now_ms:int settings:pairs
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_CONFLICT
-- ROLE   operate
-- COST   6 commands
-- INCLUDE base_time

local stored = redis.call('HMGET', config, 'layout_min', 'clock', 'poll_ms', 'claim_ms', 'waiter_ms')
local changes = settings_pairs[1] or {}
if not stored[2] and (clock == 'test') ~= (now_ms > 0) then
  return redis.error_reply('ADEQ_CLOCK now_ms goes with clock=test, and only with it')
end
local now, refused = base_time(stored[1], stored[2] or clock)
if not now then return refused end
if stored[2] and clock ~= 'keep' and clock ~= stored[2] then
  return redis.error_reply('ADEQ_CONFLICT clock is ' .. stored[2]
    .. ' since this domain was created, and cannot become ' .. clock)
end
local poll_ms = changes.poll_ms or tonumber(stored[3] or 2000)
local least = 2 * poll_ms + 1000
for name, value in pairs({ claim_ms = stored[4] or 5000, waiter_ms = stored[5] or 15000 }) do
  value = changes[name] or tonumber(value)
  if value < least then return refuse(name, value, 'at least twice poll_ms and 1000: ' .. string.format('%.0f', least)) end
end
if not stored[2] then
  redis.call('HSET', config, 'layout', CREATED, 'layout_min', CREATED, 'clock', clock == 'test' and 'test' or 'server')
end
-- at most 50: settings
if #changes > 0 then redis.call('HSET', config, unpack(changes)) end
return { 'ok', now, redis.call('HGETALL', config) }
