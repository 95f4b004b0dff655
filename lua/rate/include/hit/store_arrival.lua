-- store_arrival(key, now, due): store when all hits of gcra so far would have come at exactly the rate. The past needs no key.
-- EARLY
local function store_arrival(key, now, due)
  if due <= now then
    redis.call('DEL', key)
  elseif now_ms == 0 then
    redis.call('SET', key, due, 'PX', math.ceil((due - now) / 1000))
  else
    redis.call('SET', key, due)
  end
end
