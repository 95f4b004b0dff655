-- number_of(own, name): the same, as a number; 0 if it is not stored.
-- EARLY
local function number_of(own, name)
  if own[name] == nil then own[name] = tonumber(redis.call('HGET', change .. own.id, name) or 0) end
  return own[name]
end
