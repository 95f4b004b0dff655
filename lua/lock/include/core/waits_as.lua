-- waits_as(owner): the rid of the request with which this owner waits, or nil.
local function waits_as(owner)
  local member = members_below('o ' .. owner .. ' w', 1)[1]
  return member and string.match(member, '^.* (%S+)$')
end
