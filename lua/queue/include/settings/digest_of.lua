-- digest_of(text): what `expect` compares: 16 hex digits; `none` if nothing is stored.
local function digest_of(text)
  return text and string.sub(redis.sha1hex(text), 1, 16) or 'none'
end
