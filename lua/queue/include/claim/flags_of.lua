-- flags_of(value, token): the flags and `ran` of an entry of `running` (see read_lease) if its lease has this token;
-- otherwise nil. It costs a third of read_lease.
local function flags_of(value, token)
  if not value or string.find(value, token, 1, true) ~= 1 or string.byte(value, #token + 1) ~= 32 then return nil end
  local bar = string.find(value, '|', #token, true)
  return string.sub(value, #token + 1, bar), string.sub(value, bar + 1)
end
