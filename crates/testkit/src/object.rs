//! JSON objects whose keys stay in the order in which they were given, whatever features serde_json is built with.

use lake_trace::json::write_str;

/// A JSON object under construction.
#[derive(Clone, Debug)]
pub struct Object(String);

impl Default for Object {
    fn default() -> Object {
        Object::new()
    }
}

impl Object {
    /// `{}`.
    pub fn new() -> Object {
        Object("{".to_owned())
    }

    /// Adds a member whose value is JSON already.
    #[must_use]
    pub fn raw(mut self, key: &str, json: &str) -> Object {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        write_str(&mut self.0, key);
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    /// Adds a string.
    #[must_use]
    pub fn text(mut self, key: &str, value: &str) -> Object {
        self = self.raw(key, "");
        write_str(&mut self.0, value);
        self
    }

    /// Adds a string, or null.
    #[must_use]
    pub fn maybe(self, key: &str, value: Option<&str>) -> Object {
        match value {
            Some(value) => self.text(key, value),
            None => self.raw(key, "null"),
        }
    }

    /// Adds a whole number.
    #[must_use]
    pub fn number(self, key: &str, value: u64) -> Object {
        self.raw(key, &value.to_string())
    }

    /// Adds an object.
    #[must_use]
    pub fn object(self, key: &str, value: Object) -> Object {
        self.raw(key, &value.build())
    }

    /// Adds all members of another.
    #[must_use]
    pub fn all(mut self, other: Object) -> Object {
        if self.0.len() > 1 && other.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&other.0[1..]);
        self
    }

    /// The JSON text.
    pub fn build(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Object;

    #[test]
    fn members_keep_their_order_and_are_escaped() {
        let inner = Object::new().text("b", "\"\n").number("a", 1);
        let outer =
            Object::new().maybe("z", None).object("y", inner).all(Object::new()).all(Object::new().raw("x", "[]"));
        assert_eq!(outer.build(), r#"{"z":null,"y":{"b":"\"\n","a":1},"x":[]}"#);
    }
}
