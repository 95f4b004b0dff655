-- refuse_stale(label, expect, found): the error if what is stored is not what the caller has seen; nil if it is. Both are
-- digests.
local function refuse_stale(label, expect, found)
  if expect ~= found then
    return redis.error_reply('ADEQ_STALE ' .. label .. ': what is stored has the digest ' .. found)
  end
end
