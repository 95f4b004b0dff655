-- find_obstacle(ctx, request, order): why a request at that place has to wait: the resource, and whether holders are
-- the reason (else earlier waiters); nil if it need not wait.
local function find_obstacle(ctx, request, order)
  for _, part in ipairs(request.parts) do
    if part.fence == '0' then
      if is_held_against(ctx, part, request.owner) then return part.resource, true end
      if is_behind(ctx, part, order) then return part.resource, false end
    end
  end
end
