-- digest_of(fields): SHA-1 over netstrings of the content, in this order; integers are decimal.
local function digest_of(fields)
  local words = {}
  for i, field in ipairs(fields) do words[i] = #field .. ':' .. field .. ',' end
  return redis.sha1hex(table.concat(words))
end
