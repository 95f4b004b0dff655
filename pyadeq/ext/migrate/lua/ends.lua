-- ends.lua: from where a place is taken, and to where it goes back. A place of the kind `right` or `left` is a list, from
-- that end of which the old workers take. One of the kind `times` is a sorted set by the time in seconds; its messages
-- are `<score> <member>`. While the key `guard` exists, a program of the old system enqueues what is due. So only what
-- is due in more than a minute is taken then.

local POP, PUSH, TOP = { right = 'RPOP', left = 'LPOP' }, { right = 'RPUSH', left = 'LPUSH' }, { right = -1, left = 0 }

local function pop(kind, place, guard)
  if POP[kind] then return redis.call(POP[kind], place) end
  local from = '-inf'
  if redis.call('EXISTS', guard) == 1 then from = string.format('(%.0f', redis.call('TIME')[1] + 60) end
  local found = redis.call('ZRANGEBYSCORE', place, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if not found[1] then return false end
  redis.call('ZREM', place, found[1])
  return found[2] .. ' ' .. found[1]
end

local function push(kind, place, message)
  if PUSH[kind] then return redis.call(PUSH[kind], place, message) end
  local score, member = string.match(message, '^(%S+) (.*)$')
  redis.call('ZADD', place, score, member)
end
