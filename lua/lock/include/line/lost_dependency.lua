-- lost_dependency(request): whether a waiter rests on holds of its owner's of which one is gone.
local function lost_dependency(request)
  for _, part in ipairs(request.parts) do
    if part.depends_on ~= '' then
      local code = strongest(request.owner, part.resource)
      if code ~= 'x' and (code ~= 's' or (part.code == 'x' and part.fence ~= '0')) then return true end
    end
  end
  return false
end
