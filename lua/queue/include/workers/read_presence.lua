-- read_presence(): how long (ms) a worker without a heartbeat counts as alive.
local function read_presence()
  return tonumber(redis.call('HGET', config, 'presence_ms') or DEFAULT_presence_ms)
end
