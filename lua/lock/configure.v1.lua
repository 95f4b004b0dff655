-- lock.configure.v1: change settings of a domain, and create it if need be. The clock is chosen at creation, once.
-- Without settings it answers those that are stored; others are at their defaults. Sent again, it sets the same again.
--
-- ARGV   clock     enum keep|server|test ?=keep
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- SETTINGS settings
-- GROUP  settings  0..1
-- RETURN ok        now_ms:int settings:pairs(settings)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_CONFLICT
-- ROLE   operate
-- REPLAY idempotent
-- COST   7 commands; at most 5 commands, 220 steps

local stored = redis.call('HMGET', config, 'layout_min', 'clock', 'poll_ms', 'claim_ms', 'waiter_ms', 'lease_ms',
  'max_ttl_ms', 'heartbeat_ms')
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
local row = redis.call('HMGET', requests, '#now', '#offset')
now = math.max(now + (row[2] or 0), row[1] or 0) -- the domain's clock, as open_domain has it
local poll_ms = changes.poll_ms or tonumber(stored[3] or DEFAULT_poll_ms)
local least = 2 * poll_ms + 1000
for name, value in pairs({ claim_ms = stored[4] or DEFAULT_claim_ms, waiter_ms = stored[5] or DEFAULT_waiter_ms }) do
  value = changes[name] or tonumber(value)
  if value < least then return refuse(name, value, 'at least twice poll_ms and 1000: ' .. string.format('%.0f', least)) end
end
local lease_ms = changes.lease_ms or tonumber(stored[6] or DEFAULT_lease_ms)
local max_ttl_ms = changes.max_ttl_ms or tonumber(stored[7] or DEFAULT_max_ttl_ms)
if max_ttl_ms < lease_ms then
  return refuse('max_ttl_ms', max_ttl_ms, 'at least lease_ms: ' .. string.format('%.0f', lease_ms))
end
local heartbeat_ms = changes.heartbeat_ms or tonumber(stored[8] or 0)
if 2 * heartbeat_ms > lease_ms then
  return refuse('heartbeat_ms', heartbeat_ms, 'at most half of lease_ms: ' .. string.format('%.0f', lease_ms / 2))
end
if not stored[2] then
  redis.call('HSET', config, 'layout', CREATED, 'layout_min', CREATED, 'clock', clock == 'test' and 'test' or 'server')
end
-- at most 50: settings
if #changes > 0 then redis.call('HSET', config, unpack(changes)) end
return { 'ok', now, redis.call('HGETALL', config) }
