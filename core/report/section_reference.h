#pragma once

// The sections of a run's file: all that may stand in them.

#include <core/config/schema.h>

#include <drift/registry.h>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// The section of this name, or the family that has it: "train", "reward.added". Null if there is none.
const SectionSchema* documented_section(std::string_view name);

/// The components that it may name, by name.
std::vector<const ComponentEntry*> components_of(const Registry& registry, const SectionSchema& section);

/// A section as a file has it: "[train]", "[reward.added.LABEL]".
std::string section_title(const SectionSchema& section);

/// "drift train, drift eval": the commands that need the section. @param quote  around each
std::string readers(const SectionSchema& section, const std::string& quote = "");

/// Text of `drift config docs`: the keys of every section, without the parameters of components.
std::string sections_text();

/// Text of `drift config docs SECTION`: its keys, and the parameters of each component that it may name.
/// @throws Error with the nearest section if there is none of this name.
std::string section_text(const Registry& registry, std::string_view section);

/// The same for programs: {"sections": [{"name", "meaning", "keys", "components": [{"name", "meaning",
/// "parameters"}]}]}.
/// @param section  empty: all
nlohmann::ordered_json sections_json(const Registry& registry, std::string_view section);

/// The same of one key: an object for each section, and component, that has it.
/// @param key  as for key_text() in key_reference.h
nlohmann::ordered_json key_json(const Registry& registry, std::string_view key);

/// `drift reference configuration`: every section with the parameters of every registered component.
std::string configuration_page(const Registry& registry);

}  // namespace drift
