-- read_line(line, key, more): read the first tasks of a limit queue: as many as may start, and some more.
local function read_line(line, key, more)
  if line.most > 0 then line.first = redis.call('ZRANGE', waiting .. key, 0, line.most + more - 1, 'WITHSCORES') end
  line.whole = #line.first < 2 * (line.most + more)
end
