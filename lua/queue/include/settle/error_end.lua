-- error_end(error, sealed): the last 1,024 bytes of an error, because the end of a traceback says what went wrong. A sealed
-- error cannot be cut: a longer one is left out.
local function error_end(error, sealed)
  if #error <= 1024 then return error end
  if sealed then return '' end
  return (string.gsub(string.sub(error, -1024), '^[\128-\191]?[\128-\191]?[\128-\191]?', ''))  -- not from the middle of a character
end
