-- check_delegation(own): return an error if the fields of a delegation contradict each other.
local function check_delegation(own)
  if own.remove then
    if #own > 2 then return refuse('remove', 1, 'given alone') end
  elseif not own.to then
    return refuse('to', '', 'the person who answers instead')
  elseif own.until_ms and own.until_ms <= (own.from_ms or 0) then
    return refuse('until_ms', string.format('%.0f', own.until_ms), 'a time after from_ms')
  end
end
