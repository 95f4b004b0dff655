-- narrowest(named): the smallest of the named sets. Returns its name and its key.
local function narrowest(named)
  local best, fewest
  for _, name in ipairs({ 'state', 'user', 'tag', 'parent' }) do
    local count = named[name] and redis.call('ZCARD', named[name])
    if count and (not best or count < fewest) then best, fewest = name, count end
  end
  return best, named[best]
end
