-- handle_of(hash): what a session is called in events and lists. Neither its id nor the stored hash can be found from it.
local function handle_of(hash)
  return string.sub(redis.sha1hex(hash), 1, 16)
end
