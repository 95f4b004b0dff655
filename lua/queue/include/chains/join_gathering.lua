-- join_gathering(ctx, own, parent): if the parent waits for its children, note in the record of a new child that it
-- counts, and the place of the parent, because a later task may have the same id.
local function join_gathering(ctx, own, parent)
  local place = gathers(ctx, parent)
  if place then
    own.gathered = true
    own[#own + 1], own[#own + 2] = 'gathered', place
  end
end
