-- join_line(conf, rid, request): let a request wait at its place.
local function join_line(conf, rid, request)
  request.state = 'waits'
  link_request(conf, rid, request)
  write_request(conf, rid, request)
  set_deadline(conf, rid, math.min(request.until_ms, conf.now + conf.waiter_ms))
  conf.waiting = conf.waiting + 1
  if request.unchecked then redis.call('ZADD', unchecked, conf.now, rid) end
  tell(conf, 'lock.queued', rid, request, '')
end
