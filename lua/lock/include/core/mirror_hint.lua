-- mirror_hint(whom, words): publish a hint on the plain channel of the same name, too, for clients that can only SUBSCRIBE. In a cluster
-- each node passes it on to all others, so a domain does it only where the setting `mirror` is on. No other source may PUBLISH.
local function mirror_hint(whom, words)
  redis.pcall('PUBLISH', channel .. whom, words)
end
