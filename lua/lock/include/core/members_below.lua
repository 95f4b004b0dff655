-- members_below(words, limit): the first members of the graph that begin with these words, at most limit.
-- LATE
local function members_below(words, limit)
  return redis.call('ZRANGE', graph, '[' .. words .. ' ', '(' .. words .. '!', 'BYLEX', 'LIMIT', 0, limit)
end
