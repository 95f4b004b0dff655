-- lost_dependency(request): whether one of the holds that a waiter depends on is gone.
local function lost_dependency(request)
  for _, part in ipairs(request.parts) do
    if part.depends_on ~= '' then
      local code = strongest(request.owner, part.resource)
      if code ~= 'x' and (code ~= 's' or (part.code == 'x' and part.fence ~= '0')) then return true end
    end
  end
  return false
end
