-- start_of(set, cursor): where the page behind a cursor begins in a set that is read from the highest score on; nil if it is no cursor.
-- A cursor is `<score> <member>` of the last entry that was read.
local function start_of(set, cursor)
  if cursor == '' then return 0 end
  local score, member = string.match(cursor, '^(%d+) (%S+)$')
  if not score then return nil end
  local below = rank_after(set, score, member)
  local start = redis.call('ZCARD', set) - below
  local at = redis.call('ZRANGE', set, start, start, 'REV')[1]
  return at == member and start + 1 or start
end
