-- still_waits(ctx, request, state): whether a cycle that earlier calls have found still exists: each owner has waited
-- all the time, and for the next one. nil if that takes more than ctx.visits.
local function still_waits(ctx, request, state)
  local block = state.hard or state.maybe
  local owner = state.confirmed or block.owner
  if not state.confirmed and not strongest(block.owner, block.resource) then return false end
  for _ = 1, 20000 do
    local node = state.found[owner]
    if not node then return true end
    ctx.visits = ctx.visits - 4
    if ctx.visits <= 0 then
      state.confirmed = owner
      return nil
    end
    local wait = members_below('o ' .. owner .. ' w ' .. node.resource, 1)[1]
    local order, rid = string.match(wait or '', '^o %S+ w %S+ (%S+) %S+ (%S+)$')
    if rid ~= node.rid then return false end
    local by, code = node.waits_for, strongest(node.waits_for, node.resource)
    if not code then
      local ahead, its_code = request.order, state.wants[node.resource]
      if by ~= request.owner then
        ahead, its_code = string.match(members_below('o ' .. by .. ' w ' .. node.resource, 1)[1] or '',
          '^o %S+ w %S+ (%S+) (%S+) ')
      end
      code = ahead and ahead < order and its_code or nil
    end
    if not code or code == 's' and node.code == 's' then return false end
    owner = by
  end
end
