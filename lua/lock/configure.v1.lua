-- lock.configure.v1: change settings of a domain, and create it if it does not exist. The clock is chosen once, at
-- creation. Without settings, it returns the stored ones; all others have their defaults. If the call is sent again, it
-- sets the same again.
--
-- ARGV   clock     enum keep|server|test ?=keep
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- SETTINGS settings
-- GROUP  settings  0..1
-- RETURN ok        now_ms:int settings:pairs(settings)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_CONFLICT
-- ROLE   operate
-- REPLAY idempotent
-- COST   7 commands; at most 5 commands, 230 steps

local ctx, refused = open_to_configure(clock)
if refused then return refused end
local changes = settings_pairs[1] or {}
local row = redis.call('HMGET', requests, '#now', '#offset')
local now = math.max(ctx.now + (row[2] or 0), row[1] or 0) -- the domain's clock, as open_domain has it
local least = 2 * (changes.poll_ms or ctx.settings.poll_ms) + 1000
for name, value in pairs({ claim_ms = ctx.settings.claim_ms, waiter_ms = ctx.settings.waiter_ms }) do
  value = changes[name] or value
  if value < least then return refuse(name, value, 'at least twice poll_ms and 1000: ' .. string.format('%.0f', least)) end
end
local lease_ms = changes.lease_ms or ctx.settings.lease_ms
local max_ttl_ms = changes.max_ttl_ms or ctx.settings.max_ttl_ms
if max_ttl_ms < lease_ms then
  return refuse('max_ttl_ms', max_ttl_ms, 'at least lease_ms: ' .. string.format('%.0f', lease_ms))
end
local heartbeat_ms = changes.heartbeat_ms or ctx.settings.heartbeat_ms
if 2 * heartbeat_ms > lease_ms then
  return refuse('heartbeat_ms', heartbeat_ms, 'at most half of lease_ms: ' .. string.format('%.0f', lease_ms / 2))
end
change_settings(ctx, clock, changes)
return { 'ok', now, redis.call('HGETALL', config) }  -- at most 50: settings
