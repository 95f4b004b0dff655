-- lock.lua: take, renew or release a lock of the old layout, a hash with a time to live. A task's lock has the field
-- `holder_agent_id`. A resource's lock has the fields `mode`, and `exclusive_holder` or `holders`, a JSON array.
--
-- KEYS    the lock
-- ARGV    verb: `take`, `renew` or `release`; agent; mode: `exclusive` or `shared`; field: of the exclusive holder; ttl_ms; now and
--         until, as the layout writes times; purpose; rid: of a take, so that a repeated call finds itself again
-- RETURN  1 if the agent now holds it, or has released it; else 0: also for another take of the same agent
-- COST    at most 5 commands

local verb, agent, mode, field, ttl_ms, now, until_ = unpack(ARGV, 1, 7)  -- at most 7: the arguments
local rid = ARGV[9]
local found = redis.call('HMGET', KEYS[1], field, 'mode', 'holders', 'rid')
local owner = found[1]
if owner == '' then owner = false end
local holders, at = {}, nil
if found[2] == 'shared' and found[3] then holders = cjson.decode(found[3]) end
for i, one in ipairs(holders) do
  if one.agent_id == agent then at = i end
end
local holds = owner == agent or at ~= nil

if verb == 'release' then
  if not holds then return 0 end
  if at then table.remove(holders, at) end
  if #holders == 0 then
    redis.call('DEL', KEYS[1])
  else
    redis.call('HSET', KEYS[1], 'holders', cjson.encode(holders))
  end
  return 1
end
if verb == 'renew' then
  if not holds then return 0 end
  redis.call('HINCRBY', KEYS[1], 'heartbeat_count', 1)
elseif holds then
  if (at and holders[at].rid or found[4]) ~= rid then return 0 end
else
  if owner or (#holders > 0 and mode ~= 'shared') or #holders >= 1000 then return 0 end
  if mode == 'shared' then
    holders[#holders + 1] = { agent_id = agent, acquired_at = now, rid = rid }
    redis.call('HSET', KEYS[1], 'mode', 'shared', 'holders', cjson.encode(holders), 'acquired_at', now)
  else
    redis.call('HSET', KEYS[1], field, agent, 'acquired_at', now, 'purpose', ARGV[8], 'rid', rid)
    if field == 'exclusive_holder' then redis.call('HSET', KEYS[1], 'mode', 'exclusive') end
  end
end
if #holders > 1 and redis.call('PTTL', KEYS[1]) > tonumber(ttl_ms) then return 1 end  -- another holder needs it for longer
redis.call('HSET', KEYS[1], 'expires_at', until_)
redis.call('PEXPIRE', KEYS[1], ttl_ms)
return 1
