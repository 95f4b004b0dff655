-- settings_reply(ctx): the answer of a call that returns the settings: what `config` holds, and their digest.
local function settings_reply(ctx)
  local stored = redis.call('HGETALL', config)  -- at most 50: settings, counters and marks
  stored[#stored + 1] = 'digest'
  stored[#stored + 1] = settings_digest()
  return { 'ok', ctx.now, stored }
end
