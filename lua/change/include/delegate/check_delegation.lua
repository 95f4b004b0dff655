-- check_delegation(given): return an error if the fields of a delegation contradict each other.
local function check_delegation(given)
  if given.remove then
    if #given > 2 then return refuse('remove', 1, 'given alone') end
  elseif not given.to then
    return refuse('to', '', 'the person who answers instead')
  elseif #given.to > 195 then
    return refuse('to', given.to, 'at most 195 characters, as in user:<id>')
  elseif refuse_hidden('to', given.to) then
    return refuse_hidden('to', given.to)
  elseif given.until_ms and given.until_ms <= (given.from_ms or 0) then
    return refuse('until_ms', string.format('%.0f', given.until_ms), 'a time after from_ms')
  end
end
