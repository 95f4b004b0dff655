-- bytes_before(one, other): whether a text stands before another by its bytes, whatever the locale of the server.
local function bytes_before(one, other)
  for at = 1, math.min(#one, #other) do  -- at most 200: bytes of an id
    local mine, its = string.byte(one, at), string.byte(other, at)
    if mine ~= its then return mine < its end
  end
  return #one < #other
end
