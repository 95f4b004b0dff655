-- members_of(rid, request): the members of a request in the graph: for each lock one by resource and one by owner, and
-- one by agent. A waiter's members have its place, unless it depends on another hold of its owner. A holder's have
-- none.
local function members_of(rid, request)
  local members, owner, order = {}, request.owner, request.order
  for _, part in ipairs(request.parts) do
    local resource, code = part.resource, part.code
    if order == '-' then
      members[#members + 1] = 'r ' .. resource .. ' h ' .. code .. ' ' .. owner .. ' ' .. rid
      members[#members + 1] = 'o ' .. owner .. ' h ' .. resource .. ' ' .. code .. ' ' .. rid
    elseif part.fence == '0' then
      members[#members + 1] = 'r ' .. resource .. ' q ' .. order .. ' ' .. code .. ' ' .. owner .. ' ' .. rid
      members[#members + 1] = 'o ' .. owner .. ' w ' .. resource .. ' ' .. order .. ' ' .. code .. ' ' .. rid
    end
  end
  members[#members + 1] = 'a ' .. request.agent .. ' ' .. rid
  return members
end
