-- members_of(rid, request): its members of the graph: for each lock one by resource and one by owner, at last one by
-- agent. Who waits has a place in the order of the domain, but where it rests on a hold of its owner's; who holds has
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
