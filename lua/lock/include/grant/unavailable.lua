-- unavailable(ctx, request): the reason why the wanted permits cannot be granted at present, or nil.
local function unavailable(ctx, request)
  for _, part in ipairs(request.parts) do
    local wanted = permits_of(part.code)
    if wanted then
      local room = read_capacity(ctx, part.resource)
      if not room then return 'no_capacity' end
      if room.status == 'draining' then return 'draining' end
      if wanted > room.max then return 'too_many' end
    end
  end
end
