-- rows.lua: read hashes of the old system. It writes nothing, so it needs no fence.
--
-- KEYS    1 to 100 hashes; with `others`, as many other keys, one for each hash
-- ARGV    bytes: if the rows have more, no further one is read; others: 1 if KEYS has them, else 0; the fields to read, at most
--         50; none: all of a hash
-- RETURN  for the first hashes, at least one: the values of the fields, or all fields and values; its TTL in ms, -1 if it has
--         none; 1 if its other key exists. Instead of the values, nil for a key of another type
-- COST    3n commands

local bytes, others, size = tonumber(ARGV[1]), ARGV[2] == '1', 0
local count, fields, rows = others and #KEYS / 2 or #KEYS, {}, {}
for i = 3, #ARGV do fields[i - 2] = ARGV[i] end  -- at most 50: fields
while #rows < count and size < bytes do  -- at most 100: hashes
  local at = #rows + 1
  local key, row = KEYS[at], nil
  if fields[1] then row = redis.pcall('HMGET', key, unpack(fields)) else row = redis.pcall('HGETALL', key) end  -- at most 50: fields
  if row.err and not string.find(row.err, 'WRONGTYPE', 1, true) then return row end
  if row.err then row = false end
  for i = 1, row and #row or 0 do size = size + #(row[i] or '') end
  rows[at] = { row, redis.call('PTTL', key), others and redis.call('EXISTS', KEYS[count + at]) or 0 }
end
return rows
