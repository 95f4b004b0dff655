-- waits_as(owner): the rid under which an owner waits already; nil if it does not.
local function waits_as(owner)
  local member = members_below('o ' .. owner .. ' w', 1)[1]
  return member and string.match(member, '^.* (%S+)$')
end
