-- begin_review(ctx, own, by): go on with a submitted change that has all that its policy needs: the policy approves it, or people are
-- asked. Returns the new state.
local function begin_review(ctx, own, by)
  if passes_alone(ctx, own) then
    approve(ctx, own, 'policy:' .. text_of(own, 'policy'), '')
  else
    move_to(ctx, own, 'reviewing')
    open_review(ctx, own, by)
  end
end
