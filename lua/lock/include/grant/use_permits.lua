-- use_permits(ctx, part, sign): count the permits of a part as taken (1) or given back (-1).
local function use_permits(ctx, part, sign)
  local room = read_capacity(ctx, part.resource)
  if not room then return end
  room.used = room.used + sign * permits_of(part.code)
  write_capacity(part.resource, room)
end
