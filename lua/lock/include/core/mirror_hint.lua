-- mirror_hint(whom, words): publish a hint on the plain channel of the same name, too, for clients that can only
-- SUBSCRIBE. PUBLISH reaches all nodes of a cluster and is expensive there. So it is only called if the setting
-- `mirror` is on. No other Lua file may use PUBLISH.
local function mirror_hint(whom, words)
  redis.pcall('PUBLISH', channel .. whom, words)
end
